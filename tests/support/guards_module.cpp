// Test module _fw_guards_test: guard sets built from Python, run through the slow checker and through the stub. The
// hook's part is in hook_module.cpp.
#include <Python.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "cpython/attributes.h"
#include "cpython/numpy_api.h"
#include "cpython/version.h"
#include "guards/arena.h"
#include "guards/array_layout.h"
#include "guards/builders.h"
#include "guards/guard_set.h"
#include "guards/numpy_state.h"
#include "guards/overlap.h"
#include "guards/stub.h"

PyMethodDef* hookTestMethods();  // hook_module.cpp

namespace {

using namespace fw;          // NOLINT
using namespace fw::guards;  // NOLINT

struct Session {
  std::shared_ptr<GuardSet> set = std::make_shared<GuardSet>();
  std::unique_ptr<Stub> stub;
};
std::map<long, std::unique_ptr<Session>> sessions;
long nextSession = 1;

PyObject* raise(const std::string& what) {
  PyErr_SetString(PyExc_ValueError, what.c_str());
  return nullptr;
}
Session& at(long handle) { return *sessions.at(handle); }

const std::map<std::string, SourceKind> kSources = {{"arg", SourceKind::kArg},
                                                    {"function", SourceKind::kFunction},
                                                    {"const", SourceKind::kConst},
                                                    {"globals", SourceKind::kGlobals},
                                                    {"builtins", SourceKind::kBuiltins},
                                                    {"cell", SourceKind::kCell},
                                                    {"type_of", SourceKind::kTypeOf},
                                                    {"attr", SourceKind::kAttr},
                                                    {"type_attr", SourceKind::kTypeAttr},
                                                    {"item", SourceKind::kItem},
                                                    {"dict_item", SourceKind::kDictItem},
                                                    {"default", SourceKind::kDefault},
                                                    {"kwdefault", SourceKind::kKwDefault},
                                                    {"bound_self", SourceKind::kBoundSelf},
                                                    {"bound_func", SourceKind::kBoundFunc},
                                                    {"contents", SourceKind::kContents},
                                                    {"closure_cell", SourceKind::kClosureCell},
                                                    {"weak", SourceKind::kWeak},
                                                    {"element", SourceKind::kElement},
                                                    {"held_item", SourceKind::kHeldItem},
                                                    {"iterated", SourceKind::kIterated},
                                                    {"module_dict", SourceKind::kModuleDict},
                                                    {"element", SourceKind::kElement},
                                                    {"held_item", SourceKind::kHeldItem}};

template <class F>
PyObject* guarded(F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    return PyErr_Occurred() ? nullptr : raise(e.what());
  }
}

PyObject* newSet(PyObject*, PyObject*) {
  auto session = std::make_unique<Session>();
  session->set->sources = std::make_shared<SourceTable>();
  session->set->syms = std::make_shared<graph::SymContext>();
  sessions[nextSession] = std::move(session);
  return PyLong_FromLong(nextSession++);
}

PyObject* freeSet(PyObject*, PyObject* handle) {
  sessions.erase(PyLong_AsLong(handle));
  Py_RETURN_NONE;
}

PyObject* addSource(PyObject*, PyObject* args) {
  long h;
  const char* kind;
  int base;
  long long index;
  PyObject* object;
  if (!PyArg_ParseTuple(args, "lsiLO", &h, &kind, &base, &index, &object)) return nullptr;
  return guarded([&] {
    SourceKind k = kSources.at(kind);
    bool named = object != Py_None || k == SourceKind::kConst;
    return PyLong_FromLong(
        at(h).set->sources->intern(k, base < 0 ? SourceId() : SourceId(base), index, named ? object : nullptr).index);
  });
}

PyObject* addGuard(PyObject*, PyObject* args, PyObject* kw) {
  static const char* names[] = {"h",    "kind",     "source", "other", "object", "lo",   "hi",
                                "like", "relation", "left",   "right", "list",   nullptr};
  long h;
  const char* kind;
  int source = -1, other = -1, relation = 0;
  PyObject *object = Py_None, *like = nullptr, *list = nullptr;
  long long lo = 0, hi = 0;
  const char *left = nullptr, *right = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "lsi|iOLLOizzO!", const_cast<char**>(names), &h, &kind, &source, &other,
                                   &object, &lo, &hi, &like, &relation, &left, &right, &PyTuple_Type, &list))
    return nullptr;
  return guarded([&]() -> PyObject* {
    GuardSet& set = *at(h).set;
    Guard g{};
    bool found = false;
#define FW_GUARD(Id, text, cost, cure) \
  if (std::string(kind) == text) g.kind = GuardKind::k##Id, found = true;
#include "guards/guard_kinds.def"
    if (!found) return raise("unknown guard");
    if (source >= 0) g.source = SourceId(source);
    if (other >= 0) g.other = SourceId(other);
    bool noneMatters = g.kind == GuardKind::kEquals || g.kind == GuardKind::kIdentity;
    if (object != Py_None || noneMatters) g.object = cpython::Ref::create(object);
    for (Py_ssize_t i = 0; list && i < PyTuple_GET_SIZE(list); ++i)
      g.list.push_back(SourceId(static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(list, i)))));
    g.lo = lo, g.hi = hi, g.relation = static_cast<Relation>(relation);
    if (like && like != Py_None) {
      const ArrayView array = numpyArrays().view(like);
      std::optional<graph::DType> dtype = dtypeOf(array.descr);
      if (!dtype) return raise("dtype not supported");
      g.meta = {*dtype, classifyLayout(array)};
    }
    for (auto [text, id] : {std::pair{left, &g.left}, std::pair{right, &g.right}}) {
      if (!text) continue;
      absl::StatusOr<graph::SymId> parsed = set.syms->parse(text);
      if (!parsed.ok()) return raise(std::string(parsed.status().message()));
      *id = *parsed;
    }
    set.guards.push_back(std::move(g));
    return PyLong_FromSize_t(set.guards.size() - 1);
  });
}

PyObject* addSymbol(PyObject*, PyObject* args) {
  long h;
  const char *name, *from;
  int source, axis;
  if (!PyArg_ParseTuple(args, "lssii", &h, &name, &from, &source, &axis)) return nullptr;
  return guarded([&] {
    using From = SymbolBinding::From;
    std::string f = from;
    at(h).set->syms->symbol(name, {});
    static const std::map<std::string, From> kinds = {{"dim", From::kDim},         {"stride", From::kStride},
                                                      {"address", From::kAddress}, {"int", From::kPyInt},
                                                      {"length", From::kLength},   {"start", From::kRangeStart},
                                                      {"stop", From::kRangeStop},  {"step", From::kRangeStep},
                                                      {"index", From::kIterIndex}, {"remaining", From::kIterRemaining}};
    at(h).set->symbols.push_back({kinds.at(f), SourceId(source), axis});
    return PyLong_FromSize_t(at(h).set->symbols.size() - 1);
  });
}

PyObject* addInput(PyObject*, PyObject* args) {
  long h;
  const char* from;
  int source;
  if (!PyArg_ParseTuple(args, "lsi", &h, &from, &source)) return nullptr;
  return guarded([&] {
    using From = InputBinding::From;
    static const std::map<std::string, From> kinds = {{"array", From::kArrayData},   {"float", From::kPyFloat},
                                                      {"int", From::kPyInt},         {"bool", From::kPyBool},
                                                      {"complex", From::kPyComplex}, {"scalar", From::kNumpyScalar}};
    at(h).set->inputs.push_back({kinds.at(from), SourceId(source)});
    return PyLong_FromSize_t(at(h).set->inputs.size() - 1);
  });
}

PyObject* setBoundSlots(PyObject*, PyObject* args) {
  long h;
  int count;
  if (!PyArg_ParseTuple(args, "li", &h, &count)) return nullptr;
  at(h).set->boundSlots = count;
  Py_RETURN_NONE;
}

PyObject* addObject(PyObject*, PyObject* args) {
  long h;
  int source;
  if (!PyArg_ParseTuple(args, "li", &h, &source)) return nullptr;
  at(h).set->objects.push_back(SourceId(source));
  Py_RETURN_NONE;
}

/// build(h, sort): emits the stub; answers its size.
PyObject* build(PyObject*, PyObject* args) {
  long h;
  int sort = 0;
  if (!PyArg_ParseTuple(args, "l|p", &h, &sort)) return nullptr;
  return guarded([&]() -> PyObject* {
    Session& s = at(h);
    s.stub.reset();
    if (sort) sortGuards(*s.set);
    absl::StatusOr<std::unique_ptr<Stub>> stub = emitStub(s.set);
    if (!stub.ok()) return raise(std::string(stub.status().message()));
    s.stub = *std::move(stub);
    return PyLong_FromSize_t(s.stub->codeSize());
  });
}

/// hold_weakly(h): what the end of a capture does to a set.
PyObject* holdSetWeakly(PyObject*, PyObject* handle) {
  return guarded([&]() -> PyObject* {
    holdWeakly(*at(PyLong_AsLong(handle)).set);
    Py_RETURN_NONE;
  });
}

/// has_died(h)
PyObject* setHasDied(PyObject*, PyObject* handle) { return PyBool_FromLong(hasDied(*at(PyLong_AsLong(handle)).set)); }

PyObject* emptySlot = nullptr;  // EMPTY in a tuple of arguments stands for a null pointer

struct FrameStorage {
  explicit FrameStorage(const GuardSet& set, PyObject* args, PyObject* function)
      : slots(&PyTuple_GET_ITEM(args, 0), &PyTuple_GET_ITEM(args, 0) + PyTuple_GET_SIZE(args)),
        symbols(set.symbols.size() + 1, -77),
        scalars(2 * set.inputs.size() + 2),
        buffers(set.inputs.size() + 1),
        objects(set.objects.size() + 1) {
    std::replace(slots.begin(), slots.end(), emptySlot, static_cast<PyObject*>(nullptr));
    frame = {slots.data(), function, symbols.data(), buffers.data(), scalars.data(), objects.data()};
  }
  std::vector<PyObject*> slots;
  std::vector<int64_t> symbols;
  std::vector<uint64_t> scalars;
  std::vector<void*> buffers;
  std::vector<PyObject*> objects;
  CallFrame frame;

  PyObject* describe(const GuardSet& set) {
    cpython::Ref syms = cpython::checked(PyList_New(0)), inputs = cpython::checked(PyList_New(0)),
                 objs = cpython::checked(PyList_New(0));
    for (size_t i = 0; i < set.symbols.size(); ++i)
      cpython::checked(PyList_Append(syms.get(), cpython::checked(PyLong_FromLongLong(symbols[i])).get()));
    for (size_t i = 0; i < set.inputs.size(); ++i) {
      bool inFrame = buffers[i] == &scalars[2 * i];
      cpython::Ref value =
          cpython::checked(inFrame ? PyBytes_FromStringAndSize(reinterpret_cast<char*>(&scalars[2 * i]), 16)
                                   : PyLong_FromVoidPtr(buffers[i]));
      cpython::checked(PyList_Append(inputs.get(), value.get()));
    }
    for (size_t i = 0; i < set.objects.size(); ++i) cpython::checked(PyList_Append(objs.get(), objects[i]));
    return Py_BuildValue("(OOO)", syms.get(), inputs.get(), objs.get());
  }
};

/// slow(h, args, function) -> (failed or None, reason, frame or None)
PyObject* slow(PyObject*, PyObject* args) {
  long h;
  PyObject *bound, *function;
  if (!PyArg_ParseTuple(args, "lO!O", &h, &PyTuple_Type, &bound, &function)) return nullptr;
  return guarded([&]() -> PyObject* {
    const GuardSet& set = *at(h).set;
    FrameStorage storage(set, bound, function);
    SlowResult result = checkSlow(set, storage.frame);
    if (result.outcome == Outcome::kError) return raise(result.reason);
    if (result.outcome == Outcome::kFail) return Py_BuildValue("(isO)", result.failed, result.reason.c_str(), Py_None);
    return Py_BuildValue("(OsN)", Py_None, "", storage.describe(set));
  });
}

/// fast(h, args, function) -> (failed or None, frame or None)
PyObject* fast(PyObject*, PyObject* args) {
  long h;
  PyObject *bound, *function;
  if (!PyArg_ParseTuple(args, "lO!O", &h, &PyTuple_Type, &bound, &function)) return nullptr;
  return guarded([&]() -> PyObject* {
    Session& s = at(h);
    if (!s.stub) return raise("not built");
    FrameStorage storage(*s.set, bound, function);
    int64_t answer = s.stub->entry()(&storage.frame);
    if (PyErr_Occurred()) return raise("the stub left an exception");
    if (answer) return Py_BuildValue("(LO)", static_cast<long long>(answer - 1), Py_None);
    return Py_BuildValue("(ON)", Py_None, storage.describe(*s.set));
  });
}

/// bench(h, args, function, n) -> ns per call of the stub
PyObject* bench(PyObject*, PyObject* args) {
  long h, n;
  PyObject *bound, *function;
  if (!PyArg_ParseTuple(args, "lO!Ol", &h, &PyTuple_Type, &bound, &function, &n)) return nullptr;
  Session& s = at(h);
  FrameStorage storage(*s.set, bound, function);
  int64_t sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < n; ++i) sum += s.stub->entry()(&storage.frame);
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return Py_BuildValue("(dL)", took.count() / static_cast<double>(n), static_cast<long long>(sum));
}

PyObject* describeSource(PyObject*, PyObject* args) {
  long h;
  int source;
  PyObject* code;
  if (!PyArg_ParseTuple(args, "liO", &h, &source, &code)) return nullptr;
  return guarded([&] {
    return PyUnicode_FromString(
        at(h).set->sources->describe(SourceId(source), code == Py_None ? nullptr : code).c_str());
  });
}

PyObject* printSet(PyObject*, PyObject* args) {
  long h;
  PyObject* code;
  if (!PyArg_ParseTuple(args, "lO", &h, &code)) return nullptr;
  return guarded([&] { return PyUnicode_FromString(print(*at(h).set, code == Py_None ? nullptr : code).c_str()); });
}

/// layout(array) -> (order, contiguity, broadcast, negative)
PyObject* layoutOf(PyObject*, PyObject* array) {
  if (!PyArray_Check(array)) return raise("not an array");
  graph::Layout layout = classifyLayout(numpyArrays().view(array));
  cpython::Ref order = cpython::Ref::steal(PyTuple_New(layout.rank()));
  for (int i = 0; i < layout.rank(); ++i) PyTuple_SET_ITEM(order.get(), i, PyLong_FromLong(layout.order[i]));
  return Py_BuildValue("(Oiii)", order.get(), static_cast<int>(layout.contiguity), layout.broadcastAxes,
                       layout.negativeAxes);
}

/// Guards and sources by guards/builders.h, which take over where the pieces above would have to be told everything.
PyObject* buildIdentity(PyObject*, PyObject* args) {
  long h;
  int source;
  PyObject* object;
  if (!PyArg_ParseTuple(args, "liO", &h, &source, &object)) return nullptr;
  return guarded([&] {
    at(h).set->guards.push_back(identityGuard(SourceId(source), object));
    return PyBool_FromLong(at(h).set->guards.back().kind == GuardKind::kWeakIdentity);
  });
}

PyObject* buildConstant(PyObject*, PyObject* args) {
  long h;
  PyObject* object;
  if (!PyArg_ParseTuple(args, "lO", &h, &object)) return nullptr;
  return guarded([&] { return PyLong_FromLong(constantSource(*at(h).set->sources, object).index); });
}

PyObject* buildDictItem(PyObject*, PyObject* args) {
  long h;
  int source;
  PyObject *dict, *key;
  if (!PyArg_ParseTuple(args, "liOO", &h, &source, &dict, &key)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::optional<SourceId> id = dictItemSource(*at(h).set->sources, SourceId(source), dict, key);
    if (!id) Py_RETURN_NONE;
    return PyLong_FromLong(id->index);
  });
}

/// membership(h, source, container, key) -> name of the guard added or None
PyObject* buildMembership(PyObject*, PyObject* args) {
  long h;
  int source;
  PyObject *container, *key;
  if (!PyArg_ParseTuple(args, "liOO", &h, &source, &container, &key)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::optional<Guard> guard = membershipGuard(SourceId(source), container, key);
    if (!guard) Py_RETURN_NONE;
    at(h).set->guards.push_back(*guard);
    return PyUnicode_FromString(std::string(guardName(guard->kind)).c_str());
  });
}

/// state(h, "numpy_errors" | "warning_filters")
PyObject* buildState(PyObject*, PyObject* args) {
  long h;
  const char* what;
  if (!PyArg_ParseTuple(args, "ls", &h, &what)) return nullptr;
  return guarded([&]() -> PyObject* {
    GuardSet& set = *at(h).set;
    std::optional<Guard> guard =
        std::string(what) == "numpy_errors" ? numpyErrorsGuard() : warningFiltersGuard(*set.sources);
    if (!guard) return raise("not available");
    set.guards.push_back(*guard);
    Py_RETURN_NONE;
  });
}

/// reorder(h, history) -> (kinds and sources in the new order, permuted history); emits the stub anew
PyObject* reorderPy(PyObject*, PyObject* args) {
  long h;
  PyObject* counts;
  if (!PyArg_ParseTuple(args, "lO!", &h, &PyList_Type, &counts)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<uint32_t> history;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(counts); ++i)
      history.push_back(static_cast<uint32_t>(PyLong_AsUnsignedLong(PyList_GET_ITEM(counts, i))));
    GuardSet& set = *at(h).set;
    reorder(set, history);
    cpython::Ref order = cpython::checked(PyList_New(0)), permuted = cpython::checked(PyList_New(0));
    for (size_t i = 0; i < set.guards.size(); ++i) {
      const Guard& g = set.guards[i];
      cpython::Ref item = cpython::checked(Py_BuildValue("(si)", std::string(guardName(g.kind)).c_str(),
                                                         g.source.valid() ? static_cast<int>(g.source.index) : -1));
      cpython::checked(PyList_Append(order.get(), item.get()));
      cpython::checked(PyList_Append(permuted.get(), cpython::checked(PyLong_FromUnsignedLong(history[i])).get()));
    }
    return Py_BuildValue("(OO)", order.get(), permuted.get());
  });
}

PyObject* dictVersionPy(PyObject*, PyObject* dict) {
  if (!PyDict_CheckExact(dict)) return raise("not a dict");
  return PyLong_FromUnsignedLongLong(cpython::dictVersion(dict));
}

PyObject* mayOverlapPy(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &a, &PyArray_Type, &b)) return nullptr;
  return PyBool_FromLong(mayOverlap(numpyArrays().view(a), numpyArrays().view(b)));
}

PyObject* typeVersion(PyObject*, PyObject* type) {
  return PyLong_FromUnsignedLong(cpython::ensureTypeVersion(reinterpret_cast<PyTypeObject*>(type)));
}

PyObject* arenaStats(PyObject*, PyObject*) {
  CodeArena::Stats s = CodeArena::process().stats();
  return Py_BuildValue("(nnnn)", s.regions, s.liveBlocks, s.liveBytes, s.reservedBytes);
}

PyObject* versionCheck(PyObject*, PyObject*) { return PyUnicode_FromString(cpython::checkRuntimeVersion().c_str()); }

PyObject* versionMismatchPy(PyObject*, PyObject* args) {
  unsigned long compiled, running;
  if (!PyArg_ParseTuple(args, "kk", &compiled, &running)) return nullptr;
  return PyUnicode_FromString(cpython::versionMismatch(compiled, running).c_str());
}

uint64_t stateWord = 1;
PyObject* stateAddress(PyObject*, PyObject*) { return PyLong_FromVoidPtr(&stateWord); }
PyObject* setState(PyObject*, PyObject* value) {
  stateWord = PyLong_AsUnsignedLongLong(value);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {{"hold_weakly", holdSetWeakly, METH_O, nullptr},
                          {"has_died", setHasDied, METH_O, nullptr},
                          {"new", newSet, METH_NOARGS, nullptr},
                          {"free", freeSet, METH_O, nullptr},
                          {"source", addSource, METH_VARARGS, nullptr},
                          {"guard", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(addGuard)),
                           METH_VARARGS | METH_KEYWORDS, nullptr},
                          {"symbol", addSymbol, METH_VARARGS, nullptr},
                          {"input", addInput, METH_VARARGS, nullptr},
                          {"object", addObject, METH_VARARGS, nullptr},
                          {"bound_slots", setBoundSlots, METH_VARARGS, nullptr},
                          {"build", build, METH_VARARGS, nullptr},
                          {"slow", slow, METH_VARARGS, nullptr},
                          {"fast", fast, METH_VARARGS, nullptr},
                          {"bench", bench, METH_VARARGS, nullptr},
                          {"describe", describeSource, METH_VARARGS, nullptr},
                          {"print", printSet, METH_VARARGS, nullptr},
                          {"layout", layoutOf, METH_O, nullptr},
                          {"may_overlap", mayOverlapPy, METH_VARARGS, nullptr},
                          {"identity", buildIdentity, METH_VARARGS, nullptr},
                          {"constant", buildConstant, METH_VARARGS, nullptr},
                          {"dict_item", buildDictItem, METH_VARARGS, nullptr},
                          {"membership", buildMembership, METH_VARARGS, nullptr},
                          {"state", buildState, METH_VARARGS, nullptr},
                          {"reorder", reorderPy, METH_VARARGS, nullptr},
                          {"dict_version", dictVersionPy, METH_O, nullptr},
                          {"type_version", typeVersion, METH_O, nullptr},
                          {"arena_stats", arenaStats, METH_NOARGS, nullptr},
                          {"version_check", versionCheck, METH_NOARGS, nullptr},
                          {"version_mismatch", versionMismatchPy, METH_VARARGS, nullptr},
                          {"state_address", stateAddress, METH_NOARGS, nullptr},
                          {"set_state", setState, METH_O, nullptr},
                          {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_fw_guards_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__fw_guards_test() {
  if (!fw::cpython::importNumpy()) return nullptr;
  PyObject* module = PyModule_Create(&kModule);
  if (module && PyModule_AddFunctions(module, hookTestMethods()) < 0) Py_CLEAR(module);
  emptySlot = PyUnicode_FromString("<empty slot>");
  if (module && PyModule_AddObjectRef(module, "EMPTY", emptySlot) < 0) Py_CLEAR(module);
  return module;
}
