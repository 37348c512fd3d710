#pragma once

#if defined(ATELIER_DEVICE_cuda)
#include "kernels/gpu/encoder.h"
#include "kernels/gpu/library.h"

namespace atelier {

using CUgraphExec = struct CUgraphExec_st*;
using CUfunction = struct CUfunc_st*;
using CUkernel = struct CUkern_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;

template <class F>
F* driver(const char* name) {
  return loaded_function<F>("libcuda.so.1", name);
}

// Of cuda.h (CUDA 13).
struct Edge {
  unsigned char from_port = 0, to_port = 0, type = 0, reserved[5] = {};
};
struct KernelParams {
  CUfunction function;
  unsigned grid[3], block[3], shared_bytes;
  void **params, **extra;
  CUkernel kernel;
  void* context;
};
struct Driver {
  int (*graph_create)(CUgraph*, unsigned flags) = driver<int(CUgraph*, unsigned)>("cuGraphCreate");
  int (*graph_destroy)(CUgraph) = driver<int(CUgraph)>("cuGraphDestroy");
  int (*add_dependencies)(CUgraph, const CUgraphNode*, const CUgraphNode*, const Edge*, size_t) =
      driver<int(CUgraph, const CUgraphNode*, const CUgraphNode*, const Edge*, size_t)>(
          "cuGraphAddDependencies_v2");
  int (*add_empty)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t) =
      driver<int(CUgraphNode*, CUgraph, const CUgraphNode*, size_t)>("cuGraphAddEmptyNode");
  int (*child_graph)(CUgraphNode, CUgraph*) =
      driver<int(CUgraphNode, CUgraph*)>("cuGraphChildGraphNodeGetGraph");
  int (*nodes)(CUgraph, CUgraphNode*, size_t*) =
      driver<int(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetNodes");
  int (*node_type)(CUgraphNode, int*) = driver<int(CUgraphNode, int*)>("cuGraphNodeGetType");
  int (*kernel_params)(CUgraphNode, KernelParams*) =
      driver<int(CUgraphNode, KernelParams*)>("cuGraphKernelNodeGetParams_v2");
  int (*function_name)(const char**, CUfunction) =
      driver<int(const char**, CUfunction)>("cuFuncGetName");
  int (*kernel_name)(const char**, CUkernel) =
      driver<int(const char**, CUkernel)>("cuKernelGetName");
  int (*instantiate)(CUgraphExec*, CUgraph, unsigned long long flags) =
      driver<int(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags");
  int (*launch)(CUgraphExec, CUstream) = driver<int(CUgraphExec, CUstream)>("cuGraphLaunch");
  int (*exec_destroy)(CUgraphExec) = driver<int(CUgraphExec)>("cuGraphExecDestroy");
  int (*copy)(unsigned long long to, unsigned long long from, size_t bytes, CUstream) =
      driver<int(unsigned long long, unsigned long long, size_t, CUstream)>("cuMemcpyDtoDAsync_v2");
  int (*send)(unsigned long long to, const void* from, size_t bytes, CUstream) =
      driver<int(unsigned long long, const void*, size_t, CUstream)>("cuMemcpyHtoDAsync_v2");
  int (*current_device)(int*) = driver<int(int*)>("cuCtxGetDevice");
  int (*memory_pool)(CUmemoryPool*, int device) =
      driver<int(CUmemoryPool*, int)>("cuDeviceGetDefaultMemPool");
  int (*set_pool)(CUmemoryPool, int what, void* value) =
      driver<int(CUmemoryPool, int, void*)>("cuMemPoolSetAttribute");
};

/** The CUDA driver's functions for graphs and memory, looked up once. */
const Driver& cuda();

/** Throws internal, with what was asked for, where the driver's status is an error. */
void check_cuda(int status, const char* what);

}  // namespace atelier
#endif
