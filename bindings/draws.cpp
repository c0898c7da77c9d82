#include "bindings/draws.h"

#include <algorithm>
#include <utility>

#include "bindings/python_random.h"

namespace fw::bindings {
namespace {

using cpython::checked;
using cpython::Ref;

/// A RandomState has numbers of its own besides those of its bit generator.
bool isLegacy(PyObject* generator) { return PyObject_HasAttrString(generator, "get_state") != 0; }

Ref savedState(PyObject* generator) {
  if (python_random::is(generator)) return python_random::state(generator);
  if (isLegacy(generator)) {
    Ref get = checked(PyObject_GetAttrString(generator, "get_state"));
    Ref names = checked(Py_BuildValue("(s)", "legacy"));
    PyObject* legacy[] = {Py_False};
    return checked(PyObject_Vectorcall(get.get(), legacy, 0, names.get()));
  }
  Ref bits = checked(PyObject_GetAttrString(generator, "bit_generator"));
  return checked(PyObject_GetAttrString(bits.get(), "state"));
}

void setState(PyObject* generator, PyObject* state) {
  if (python_random::is(generator)) return python_random::setState(generator, state);
  if (isLegacy(generator)) {
    (void)checked(PyObject_CallMethod(generator, "set_state", "O", state));
    return;
  }
  Ref bits = checked(PyObject_GetAttrString(generator, "bit_generator"));
  checked(PyObject_SetAttrString(bits.get(), "state", state));
}

bool areSame(PyObject* a, PyObject* b) {
  const int same = PyObject_RichCompareBool(a, b, Py_EQ);
  if (same >= 0) return same == 1;
  PyErr_Clear();  // there are arrays among them, which do not compare as a whole
  Ref pickle = checked(PyImport_ImportModule("pickle"));
  Ref first = checked(PyObject_CallMethod(pickle.get(), "dumps", "O", a));
  Ref second = checked(PyObject_CallMethod(pickle.get(), "dumps", "O", b));
  return checked(PyObject_RichCompareBool(first.get(), second.get(), Py_EQ)) == 1;
}

bool hasOtherThreads() {
  PyThreadState* first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  return first && PyThreadState_Next(first);
}

bool drawBehind(const graph::Steps& steps, absl::Span<const capture::LibraryCall> sites, int& last) {
  for (const graph::Step& step : steps) {
    if (const auto* call = std::get_if<graph::CallStep>(&step.what);
        call && sites[static_cast<size_t>(call->site)].draws && std::exchange(last, call->site) >= call->site)
      return false;
    if (const graph::ControlStep* control = graph::controlOf(step))
      for (const graph::ControlStep::Body& body : control->bodies)
        if (!drawBehind(body.steps, sites, last)) return false;
  }
  return true;
}

}  // namespace

Ref bitGeneratorOf(PyObject* generator) {
  if (python_random::is(generator)) return Ref::create(generator);
  return checked(PyObject_GetAttrString(generator, isLegacy(generator) ? "_bit_generator" : "bit_generator"));
}

LegacySource* LegacySource::of(bitgen_t* source) {
  auto* legacy = reinterpret_cast<LegacySource*>(source);  // sources are followed by more than a pointer in any case
  return legacy->itself == source ? legacy : nullptr;
}

namespace {

/// The struct is known to Cython only: it is found by the pointer to its own beginning.
bitgen_t* legacySourceIn(PyObject* generator, const bitgen_t* source) {
  const Py_ssize_t last = Py_TYPE(generator)->tp_basicsize - static_cast<Py_ssize_t>(sizeof(LegacySource));
  for (Py_ssize_t at = sizeof(PyObject); at <= last; at += static_cast<Py_ssize_t>(sizeof(void*))) {
    auto* numbers = reinterpret_cast<bitgen_t*>(reinterpret_cast<char*>(generator) + at);
    if (LegacySource::of(numbers) && numbers->state == source->state && numbers->next_double == source->next_double)
      return numbers;
  }
  return nullptr;
}

}  // namespace

bitgen_t* sourceIn(PyObject* generator, PyObject* bitGenerator, std::unique_ptr<bitgen_t>& own) {
  if (python_random::is(generator)) {
    own = python_random::sourceOf(generator);
    return own.get();
  }
  const Ref capsule = checked(PyObject_GetAttrString(bitGenerator, "capsule"));
  auto* source = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.get(), "BitGenerator"));
  if (!source) throw cpython::PythonError();
  bitgen_t* legacy = isLegacy(generator) ? legacySourceIn(generator, source) : nullptr;
  return legacy ? legacy : source;
}

bool drawInOrder(const graph::Steps& steps, absl::Span<const capture::LibraryCall> sites) {
  int last = -1;
  return drawBehind(steps, sites, last);
}

Draws::Kept& Draws::streamOf(PyObject* generator) {
  for (const auto& [known, stream] : streams_)
    if (known == generator) return kept_[stream];
  Ref bits = bitGeneratorOf(generator);
  size_t at = 0;
  while (at < kept_.size() && kept_[at].bits.get() != bits.get()) ++at;
  if (at == kept_.size()) {
    kept_.push_back({.bits = bits, .generator = Ref::create(generator), .before = savedState(generator), .after = {}});
  } else if (isLegacy(generator) || isLegacy(kept_[at].generator.get())) {
    PyErr_SetString(PyExc_RuntimeError, "a RandomState shares its numbers with another generator");
    throw cpython::PythonError();
  }
  streams_.emplace_back(generator, at);
  return kept_[at];
}

void Draws::begin(PyObject* generator) { begun(generator); }

Draws::Kept& Draws::begun(PyObject* generator) {
  Kept& kept = streamOf(generator);
  // Numbers of others stay theirs.
  if (kept.after && !areSame(kept.after.get(), savedState(generator).get())) kept.before = {};
  kept.after = {};
  return kept;
}

bitgen_t* Draws::sourceOf(PyObject* generator) {
  Kept& kept = begun(generator);
  alone_ = alone_ || !hasOtherThreads();
  if (!alone_) return nullptr;
  if (!kept.source) kept.source = sourceIn(kept.generator.get(), kept.bits.get(), kept.own);
  return kept.source;
}

void Draws::pause() {
  alone_ = false;
  if (kept_.empty() || !hasOtherThreads()) return;
  for (Kept& kept : kept_)
    if (!kept.after) kept.after = savedState(kept.generator.get());
}

void Draws::takeBack() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    try {
      PyObject* generator = kept->generator.get();
      if (!kept->before || (kept->after && !areSame(kept->after.get(), savedState(generator).get()))) continue;
      setState(generator, kept->before.get());
    } catch (const cpython::PythonError&) {
      PyErr_Clear();
    }
  }
  kept_.clear();
  streams_.clear();
  PyErr_Restore(type, value, trace);
}

}  // namespace fw::bindings
