// Shapes: N rows, I in, O out.
#include "core/error.h"
#include "kernels/gpu/empty.h"
#include "kernels/gpu/encoder.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/library.h"
#include "kernels/product.h"

#include <mlx/primitives.h>

#include <map>
#include <tuple>

namespace atelier {
#if defined(ATELIER_DEVICE_cuda)
namespace {

// Of cublasLt.h (CUDA 13), which comes with the toolkit alone.
struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

template <class F>
F* cublas(const char* name) {
  return loaded_function<F>("libcublasLt.so.13", name);
}

struct CublasLt {
  using SetAttribute = int(void* object, int what, const void* value, size_t bytes);

  int (*create)(void** handle) = cublas<int(void**)>("cublasLtCreate");
  int (*make_desc)(void** desc, int compute, int scale) =
      cublas<int(void**, int, int)>("cublasLtMatmulDescCreate");
  SetAttribute* set_desc = cublas<SetAttribute>("cublasLtMatmulDescSetAttribute");
  int (*make_layout)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t step) =
      cublas<int(void**, int, uint64_t, uint64_t, int64_t)>("cublasLtMatrixLayoutCreate");
  int (*make_preference)(void** preference) = cublas<int(void**)>("cublasLtMatmulPreferenceCreate");
  SetAttribute* set_preference = cublas<SetAttribute>("cublasLtMatmulPreferenceSetAttribute");
  using Choose =
      int(void* handle,
          void* desc,
          void* a,
          void* b,
          void* c,
          void* d,
          void* preference,
          int wanted,
          Heuristic* found,
          int* count);
  Choose* choose = cublas<Choose>("cublasLtMatmulAlgoGetHeuristic");
  using Multiply =
      int(void* handle,
          void* desc,
          const void* alpha,
          const void* a,
          void* a_layout,
          const void* b,
          void* b_layout,
          const void* beta,
          const void* c,
          void* c_layout,
          void* d,
          void* d_layout,
          const Algorithm* algorithm,
          void* workspace,
          size_t workspace_bytes,
          CUstream stream);
  Multiply* multiply = cublas<Multiply>("cublasLtMatmul");
};

const CublasLt& lt() {
  static const CublasLt made;
  return made;
}

constexpr size_t workspace_bytes = size_t{32} << 20;

void check(int status, const char* what) {
  if (status != 0) {
    throw Error(
        ErrorCode::internal,
        std::string("product_f32: ") + what + " failed with cuBLAS's status " +
            std::to_string(status));
  }
}

// What cuBLASLt needs to know of one size; never freed, there are few.
struct Plan {
  void *desc = nullptr, *w = nullptr, *x = nullptr, *out = nullptr;
  Heuristic chosen{};
};

void* handle() {
  thread_local void* made = [] {
    void* h = nullptr;
    check(lt().create(&h), "cublasLtCreate");
    return h;
  }();
  return made;
}

// Row-major y = x wᵀ is column-major yᵀ = w xᵀ: w [O, I] is read transposed, x as it lies.
Plan make_plan(int N, int I, int O, mx::Dtype dtype) {
  constexpr int f32 = 0, f16 = 2, bf16 = 14, compute_f32 = 68, transpose_a = 3, yes = 1,
                max_workspace = 1;
  const int type = dtype == mx::bfloat16 ? bf16 : f16;
  Plan p;
  check(lt().make_desc(&p.desc, compute_f32, f32), "cublasLtMatmulDescCreate");
  check(lt().set_desc(p.desc, transpose_a, &yes, sizeof yes), "cublasLtMatmulDescSetAttribute");
  check(lt().make_layout(&p.w, type, I, O, I), "cublasLtMatrixLayoutCreate");
  check(lt().make_layout(&p.x, type, I, N, I), "cublasLtMatrixLayoutCreate");
  check(lt().make_layout(&p.out, f32, O, N, O), "cublasLtMatrixLayoutCreate");
  void* preference = nullptr;
  check(lt().make_preference(&preference), "cublasLtMatmulPreferenceCreate");
  check(
      lt().set_preference(preference, max_workspace, &workspace_bytes, sizeof workspace_bytes),
      "cublasLtMatmulPreferenceSetAttribute");
  int found = 0;
  check(
      lt().choose(handle(), p.desc, p.w, p.x, p.out, p.out, preference, 1, &p.chosen, &found),
      "cublasLtMatmulAlgoGetHeuristic");
  check(found == 1 ? 0 : -1, "the choice of an algorithm");
  return p;
}

const Plan& plan(int N, int I, int O, mx::Dtype dtype) {
  thread_local std::map<std::tuple<int, int, int, int>, Plan> made;
  const auto key = std::tuple(N, I, O, static_cast<int>(dtype.val()));
  auto at = made.find(key);
  return at != made.end() ? at->second : made.emplace(key, make_plan(N, I, O, dtype)).first->second;
}

// Inputs: x [N, I], w [O, I], the output's memory, a workspace.
class ProductF32 : public mx::Primitive {
 public:
  explicit ProductF32(mx::Stream stream) : Primitive(stream) {}

  void eval_cpu(const Arrays&, Arrays&) override {
    throw Error(ErrorCode::internal, "product_f32: a CUDA product on the CPU");
  }
  void eval_gpu(const Arrays& in, Arrays& out) override {
    auto& encoder = mx::cu::get_command_encoder(stream());
    const int I = in[1].shape(1), O = in[1].shape(0), N = static_cast<int>(in[0].size() / I);
    const Plan& p = plan(N, I, O, in[0].dtype());
    out[0].copy_shared_buffer(in[2]);
    encoder.set_input_array(in[0]);
    encoder.set_input_array(in[1]);
    encoder.set_output_array(out[0]);
    encoder.set_output_array(in[3]);  // products that share it run one after the other
    const float one = 1, zero = 0;
    mx::cu::CommandEncoder::CaptureContext capture(encoder);
    check(
        lt().multiply(
            handle(),
            p.desc,
            &one,
            gpu_address(in[1]),
            p.w,
            gpu_address(in[0]),
            p.x,
            &zero,
            gpu_address(out[0]),
            p.out,
            gpu_address(out[0]),
            p.out,
            &p.chosen.algorithm,
            gpu_address(in[3]),
            workspace_bytes,
            encoder.stream),
        "cublasLtMatmul");
  }
  const char* name() const override {
    return "ProductF32";
  }
};

}  // namespace
#endif

bool product_f32_fits_gpu(const mx::array& x, const mx::array& w) {
  return gpu_kernels_for(x) && x.dtype() != mx::float32 && w.dtype() == x.dtype() && x.size() > 0;
}

mx::array product_f32_gpu(const mx::array& x, const mx::array& w) {
#if defined(ATELIER_DEVICE_cuda)
  thread_local std::optional<mx::array> workspace;
  if (!workspace) {
    workspace = empty_gpu({static_cast<int>(workspace_bytes)}, mx::uint8);
    workspace->eval();
  }
  mx::Shape shape = x.shape();
  shape.back() = w.shape(0);
  const mx::Stream stream = mx::default_stream(mx::Device::gpu);
  return mx::array(
      shape,
      mx::float32,
      std::make_shared<ProductF32>(stream),
      {mx::contiguous(x), mx::contiguous(w), empty_gpu(shape, mx::float32), *workspace});
#else
  throw Error(ErrorCode::internal, "product_f32: a CUDA product in a build without CUDA");
#endif
}

}  // namespace atelier
