// The table of instruction sets and the test of what this machine has. x86 only; asking elsewhere is an error, and the
// function then runs as Python.
#include "jit/target.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace fw::jit {

namespace {

using Isa = CompileOptions::Isa;

// NumPy 2.4 itself needs x86-64-v2, so nothing below it (no SSE4.1 rounding) is worth a row.
constexpr TargetSpec kTargets[] = {
    {Isa::kAvx512, "avx512", "skylake-avx512", "", 512, true, true, true},
    {Isa::kAvx2, "avx2", "haswell", "", 256, false, true, true},
    {Isa::kPortable, "portable", "x86-64-v2", "", 128, false, false, false},
};

constexpr const char* kAvx2Needs[] = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "movbe"};
constexpr const char* kAvx512Needs[] = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "adx", "rdseed"};

const llvm::StringMap<bool>& hostFeatures() {
  static const llvm::StringMap<bool>* features = new llvm::StringMap<bool>(llvm::sys::getHostCPUFeatures());
  return *features;
}

bool hostHas(llvm::ArrayRef<const char*> names) {
  for (const char* name : names) {
    auto it = hostFeatures().find(name);
    if (it == hostFeatures().end() || !it->second) return false;
  }
  return true;
}

Isa widestIsa() {
  if (!hostHas(kAvx2Needs)) return Isa::kPortable;
  return hostHas(kAvx512Needs) ? Isa::kAvx512 : Isa::kAvx2;
}

const TargetSpec& specOf(Isa isa) {
  for (const TargetSpec& spec : kTargets) {
    if (spec.isa == isa) return spec;
  }
  return kTargets[2];
}

}  // namespace

graph::Target planningTarget() {
  graph::Target target;
  for (const TargetSpec& spec : kTargets) target.alignment = std::max<int64_t>(target.alignment, spec.vectorBits / 8);
  return target;
}

absl::StatusOr<const TargetSpec*> resolveTarget(Isa isa) {
#ifndef __x86_64__
  return absl::UnimplementedError("native code is made for x86-64 only");
#else
  static const Isa widest = widestIsa();
  if (!hostHas({"sse4.1", "ssse3", "popcnt"})) return absl::UnimplementedError("this processor is below x86-64-v2");
  const TargetSpec& spec = specOf(isa == Isa::kHost ? widest : isa);
  if (spec.vectorBits > specOf(widest).vectorBits) {
    return absl::InvalidArgumentError(absl::StrCat("this machine cannot run code for ", spec.cpu));
  }
  return &spec;
#endif
}

Isa isaNamed(std::string_view name) {
  const auto* spec =
      std::find_if(std::begin(kTargets), std::end(kTargets), [&](const auto& s) { return name == s.name; });
  return spec == std::end(kTargets) ? Isa::kHost : spec->isa;
}

std::string setsOfThisMachine() {
  std::string names;
  for (const TargetSpec& spec : kTargets)
    if (resolveTarget(spec.isa).ok()) absl::StrAppend(&names, names.empty() ? "" : "|", spec.name);
  return names;
}

std::string hostTargetDescription() {
  auto spec = resolveTarget(Isa::kHost);
  if (!spec.ok()) return "none";
  return absl::StrCat((*spec)->name, " ", (*spec)->vectorBits, " bits (", llvm::sys::getHostCPUName().str(), ")");
}

}  // namespace fw::jit
