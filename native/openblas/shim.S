/* The BLAS and LAPACK symbols that libmlx asks for, each a jump to OpenBLAS's of the same name with the
   prefix scipy_. A jump keeps every register and the stack, so no signature is needed here. The reference
   BLAS in MLX's CPU wheel reaches 1-2 GFLOP/s on a product of two 1024x1024 f32 matrices; this 50 and more. */

#if defined(__x86_64__)
#define JUMP(name)                       \
  .globl name;                           \
  .type name, @function;                 \
  .balign 16;                            \
  name:                                  \
  jmp *scipy_##name@GOTPCREL(%rip);      \
  .size name, .- name
#elif defined(__aarch64__)
#define JUMP(name)                       \
  .globl name;                           \
  .type name, %function;                 \
  .balign 16;                            \
  name:                                  \
  adrp x16, :got:scipy_##name;           \
  ldr x16, [x16, :got_lo12:scipy_##name]; \
  br x16;                                \
  .size name, .- name
#else
#error "no BLAS shim for this processor"
#endif

  .text
JUMP(cblas_cgemm)
JUMP(cblas_dgemm)
JUMP(cblas_sgemm)
JUMP(cgeev_)
JUMP(cgesdd_)
JUMP(cheevd_)
JUMP(dgeev_)
JUMP(dgeqrf_)
JUMP(dgesdd_)
JUMP(dgetrf_)
JUMP(dgetri_)
JUMP(dorgqr_)
JUMP(dpotrf_)
JUMP(dsyevd_)
JUMP(dtrtri_)
JUMP(sgeev_)
JUMP(sgeqrf_)
JUMP(sgesdd_)
JUMP(sgetrf_)
JUMP(sgetri_)
JUMP(sorgqr_)
JUMP(spotrf_)
JUMP(ssyevd_)
JUMP(strtri_)

  .section .note.GNU-stack, "", %progbits
