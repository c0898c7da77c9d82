// Lowers the glibc that a wheel needs to 2.34, below which LLVM and Abseil as Debian 12 builds them cannot go:
// functions that came later, or whose symbol got a newer version without another result, are answered here. The linker
// takes these definitions, which leave the extension as little as any other, in place of those of the shared library.
#include <cstdint>
#include <cstdlib>

#include <unistd.h>

#if defined(__x86_64__) && defined(__GLIBC__)

extern "C" {

/// 2.36. LLVM asks for the names of temporary files.
uint32_t arc4random() {
  uint32_t value = 0;
  if (getentropy(&value, sizeof(value)) != 0) std::abort();
  return value;
}

/// 2.35, where the wrapper went that sets errno; what is computed is the same.
double fwOldHypot(double x, double y);
float fwOldHypotf(float x, float y);
__asm__(".symver fwOldHypot, hypot@GLIBC_2.2.5");
__asm__(".symver fwOldHypotf, hypotf@GLIBC_2.2.5");
double hypot(double x, double y) { return fwOldHypot(x, y); }
float hypotf(float x, float y) { return fwOldHypotf(x, y); }

}  // extern "C"

#endif
