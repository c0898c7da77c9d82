// Tables of declarations. Everything is keyed by identity; what is declared about functions is held for the life of the
// process, as decorators are, while marks of arrays go away with the array. The GIL guards all of it.
#include "frame_eval/policy.h"

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "cpython/code_facts.h"
#include "cpython/ref.h"

namespace fw::capture {
namespace {

using cpython::Ref;

struct DeclaredCallable {
  Declaration kind;
  Ref replacement;
};

struct ArrayMarks {
  Ref reference;  // weak reference; its target tells whether the address was used again
  absl::flat_hash_map<int, SizePolicy> axes;
};

struct Profile {
  std::vector<ProfiledSize> sizes;
  std::vector<int> stops;
};

/// Never destroyed: code objects may die after static destruction began.
struct Tables {
  absl::flat_hash_map<PyObject*, std::string> disabled;  // code -> reason
  absl::flat_hash_map<PyObject*, DeclaredCallable> callables;
  absl::flat_hash_map<PyObject*, ArrayMarks> arrays;
  absl::flat_hash_map<PyObject*, std::unique_ptr<Profile>> profiles;  // code -> profile
  bool staticMarks = false;                                           // some of `arrays` may have one
  PyObject* isCompiling = nullptr;
  UnwrapHook unwrap = nullptr;
};
Tables& tables() {
  static auto* t = new Tables;
  return *t;
}

/// The target of a weak reference, borrowed; None if it is gone. (The macro for this is deprecated, the function is not
/// everywhere.)
PyObject* targetOf(const Ref& reference) { return cpython::checked(PyObject_CallNoArgs(reference.get())).get(); }

/// Dead arrays leave their entries behind; sweeping when the table has doubled keeps it as large as what lives.
void sweepMarks() {
  static size_t next = 64;
  auto& arrays = tables().arrays;
  if (arrays.size() < next) return;
  absl::erase_if(arrays, [](const auto& entry) { return targetOf(entry.second.reference) == Py_None; });
  next = std::max<size_t>(64, 2 * arrays.size());
  if (arrays.empty()) tables().staticMarks = false;
}

const ArrayMarks* marksOf(PyObject* array) {
  const auto& arrays = tables().arrays;
  if (arrays.empty()) return nullptr;
  auto it = arrays.find(array);
  if (it == arrays.end() || targetOf(it->second.reference) != array) return nullptr;
  return &it->second;
}

const Profile* profileOf(PyObject* code) {
  const auto& profiles = tables().profiles;
  if (profiles.empty() || !code) return nullptr;
  auto it = profiles.find(code);
  return it == profiles.end() ? nullptr : it->second.get();
}

}  // namespace

void disableCode(PyObject* code, std::string_view reason) {
  auto [it, added] = tables().disabled.try_emplace(code);
  if (added) Py_INCREF(code);
  it->second = std::string(reason);
}

bool isDisabled(PyObject* code) { return tables().disabled.contains(code); }

std::string disabledDetail(PyObject* code) {
  std::string detail = cpython::qualifiedName(reinterpret_cast<PyCodeObject*>(code));
  auto it = tables().disabled.find(code);
  if (it != tables().disabled.end() && !it->second.empty()) detail += " (" + it->second + ")";
  return detail;
}

void setIsCompiling(PyObject* function) { tables().isCompiling = Py_NewRef(function); }
bool isIsCompiling(PyObject* object) { return object == tables().isCompiling; }

void setUnwrapHook(UnwrapHook hook) { tables().unwrap = hook; }
PyObject* unwrapCompiled(PyObject* object) { return tables().unwrap ? tables().unwrap(object) : nullptr; }

void declareCallable(PyObject* callable, Declaration kind, PyObject* replacement) {
  auto [it, added] = tables().callables.try_emplace(callable);
  if (added) Py_INCREF(callable);
  it->second = {kind, Ref::create(replacement)};
}

Declared declarationOf(PyObject* callable) {
  auto it = tables().callables.find(callable);
  if (it == tables().callables.end()) return {};
  return {it->second.kind, it->second.replacement.get()};
}

bool isAllowedInGraph(PyObject* function) { return declarationOf(function).kind == Declaration::kAllowInGraph; }

void markSize(PyObject* array, int axis, SizePolicy policy) {
  sweepMarks();
  if (!marksOf(array)) {
    Ref reference = cpython::checked(PyWeakref_NewRef(array, nullptr));
    tables().arrays.insert_or_assign(array, ArrayMarks{std::move(reference), {}});
  }
  tables().arrays[array].axes[axis] = policy;
  tables().staticMarks |= policy == SizePolicy::kStatic;
}

bool hasStaticMarks() { return tables().staticMarks; }

bool isMarkedStatic(PyObject* array, int axis) {
  const ArrayMarks* marks = marksOf(array);
  if (!marks) return false;
  auto it = marks->axes.find(axis);
  return it != marks->axes.end() && it->second == SizePolicy::kStatic;
}

void setProfile(PyObject* code, std::vector<ProfiledSize> sizes, std::vector<int> stops) {
  auto& slot = tables().profiles[code];
  if (!slot) Py_INCREF(code);
  slot = std::make_unique<Profile>(Profile{std::move(sizes), std::move(stops)});
}

void clearProfile(PyObject* code) {
  if (tables().profiles.erase(code)) Py_DECREF(code);
}

const std::vector<int>& profiledStops(PyObject* code) {
  static const auto* none = new std::vector<int>;
  const Profile* profile = profileOf(code);
  return profile ? profile->stops : *none;
}

SizePolicy sizePolicy(PyObject* array, int axis, PyObject* code, std::string_view argument, SizePolicy fallback) {
  if (const ArrayMarks* marks = marksOf(array))
    if (auto it = marks->axes.find(axis); it != marks->axes.end()) return it->second;
  if (const Profile* profile = profileOf(code); profile && !argument.empty())
    for (const ProfiledSize& size : profile->sizes)
      if (size.axis == axis && size.argument == argument) return size.policy;
  return fallback;
}

}  // namespace fw::capture
