// Text of exit plans, for logs and tests.
#include "frame_eval/exit_plan.h"

#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {
namespace {

class Printer {
 public:
  Printer(const ExitPlan& plan, const graph::SymContext& syms) : plan_(plan), syms_(syms) {}

  std::string orNone(int at) const { return at < 0 ? "-" : node(at); }

  std::string effect(const Effect& e) const {
    std::string target = orNone(e.target);
    switch (e.kind) {
      case Effect::Kind::kSetAttr: return target + "." + orNone(e.key) + " = " + orNone(e.value);
      case Effect::Kind::kSetItem: return target + "[" + orNone(e.key) + "] = " + orNone(e.value);
      case Effect::Kind::kListSlice: {
        std::string to = e.hi == INT64_MAX ? "end" : std::to_string(e.hi),
                    from = e.lo == INT64_MAX ? "end" : std::to_string(e.lo);
        return target + "[" + from + ":" + to + "] = " + orNone(e.value);
      }
      case Effect::Kind::kListNumbers: return "items of " + target + " = " + orNone(e.value);
      case Effect::Kind::kSetAdd: return target + ".add(" + orNone(e.key) + ")";
      case Effect::Kind::kSetDiscard: return target + ".discard(" + orNone(e.key) + ")";
      case Effect::Kind::kSetCell: return "content of " + target + " = " + orNone(e.value);
      case Effect::Kind::kCall: return target + "." + orNone(e.key) + "(*" + orNone(e.value) + ")";
      case Effect::Kind::kRelease:
        return "release of object " + std::to_string(plan_.locks.at(static_cast<size_t>(e.lo)));
      case Effect::Kind::kAdvance: return target + " advanced by " + std::to_string(e.lo);
    }
    FW_UNREACHABLE();
  }

  std::string node(int at) const {
    const ExitNode& n = plan_.nodes.at(static_cast<size_t>(at));
    using Kind = ExitNode::Kind;
    switch (n.kind) {
      case Kind::kConstant: return "constant " + repr(n.object.get());
      case Kind::kObject: return "object " + std::to_string(n.index);
      case Kind::kArray: return array(n);
      case Kind::kArrayScalar: return "scalar #" + std::to_string(n.index);
      case Kind::kPyFloat: return "float #" + std::to_string(n.index);
      case Kind::kMixed: return "number #" + std::to_string(n.index) + " of class #" + std::to_string(n.which);
      case Kind::kChosen: return "choice #" + std::to_string(n.index) + " of (" + children(n) + ")";
      case Kind::kDataInt: return "int #" + std::to_string(n.index);
      case Kind::kPyBool: return "bool #" + std::to_string(n.index);
      case Kind::kPyComplex: return "complex #" + std::to_string(n.index);
      case Kind::kPyInt: return "int " + syms_.print(n.sym);
      case Kind::kTuple: return "tuple(" + children(n) + ")";
      case Kind::kList: return "list(" + children(n) + ")";
      case Kind::kItems: return "list of " + node(n.children[1]) + " by " + node(n.children[0]);
      case Kind::kRowList: return "list of " + node(n.children[0]);
      case Kind::kBlock:
        return "list of " + node(n.children[0]) + " by #" + std::to_string(n.index) + " from #" +
               std::to_string(n.which);
      case Kind::kRecord: return "list(" + children(n) + ") at #" + std::to_string(n.index);
      case Kind::kRow: return "row of #" + std::to_string(n.index);
      case Kind::kDict: return "dict(" + children(n) + ")";
      case Kind::kSet: return "set(" + children(n) + ")";
      case Kind::kFrozenSet: return "frozenset(" + children(n) + ")";
      case Kind::kSlice: return "slice(" + children(n) + ")";
      case Kind::kRange: return "range(" + children(n) + ")";
      case Kind::kIterator: return "iter(" + children(n) + ")" + taken(n);
      case Kind::kCall: return "call(" + children(n) + ")" + taken(n);
      case Kind::kSubclass:
      case Kind::kAttribute: return children(n) + "." + string(n.object.get());
      case Kind::kMethod: return "method(" + children(n) + ")";
      case Kind::kFunction: return "function(" + children(n) + ")";
      case Kind::kCell: return "cell(" + children(n) + ")";
      case Kind::kInstance:
        return "instance of " +
               (n.object     ? std::string(reinterpret_cast<PyTypeObject*>(n.object.get())->tp_name)
                : n.live < 0 ? "the first"
                             : "object " + std::to_string(n.live)) +
               "(" + children(n) + ")";
      case Kind::kShared: {
        const ExitNode& same = plan_.nodes.at(static_cast<size_t>(n.index));
        return same.kind == Kind::kObject ? node(n.index) : "same as node " + std::to_string(n.index);
      }
    }
    FW_UNREACHABLE();
  }

 private:
  static std::string array(const ExitNode& n) {
    std::string text = "#" + std::to_string(n.index);
    if (n.baseObject >= 0) {
      text = "view " + text + " of object " + std::to_string(n.baseObject);
    } else if (n.baseNode >= 0) {
      text = "view " + text + " of #" + std::to_string(n.baseNode);
    } else {
      text = "array " + text;
    }
    return n.writeable ? text : text + " read-only";
  }

  static std::string taken(const ExitNode& n) { return n.index > 0 ? " from item " + std::to_string(n.index) : ""; }

  std::string children(const ExitNode& n) const {
    std::string text;
    for (int child : n.children) text += (text.empty() ? "" : ", ") + orNone(child);
    return text;
  }

  static std::string string(PyObject* str) {
    const char* utf8 = PyUnicode_AsUTF8(str);
    if (!utf8) PyErr_Clear();
    return utf8 ? utf8 : "?";
  }

  /// Only of types whose repr is CPython's own.
  static std::string repr(PyObject* object) {
    if (!object) return "nothing";
    bool plain = object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
                 PyUnicode_CheckExact(object);
    if (!plain) return Py_TYPE(object)->tp_name;
    cpython::Ref text = cpython::Ref::steal(PyObject_Repr(object));
    const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (utf8) return utf8;
    PyErr_Clear();
    return "?";
  }

  const ExitPlan& plan_;
  const graph::SymContext& syms_;
};

}  // namespace

std::string print(const ExitPlan& plan, const graph::SymContext& syms) {
  Printer printer(plan, syms);
  std::string text;
  auto line = [&](std::string more) { text += (text.empty() ? "" : "\n") + more; };
  for (int lock : plan.locks) line("acquire of object " + std::to_string(lock));
  for (const Effect& effect : plan.effects) line(printer.effect(effect));
  for (const SlotWrite& write : plan.slots)
    line("slot " + std::to_string(write.slot) + " = " + printer.orNone(write.node));
  if (plan.end != ExitPlan::kReturn) {
    line("at " + std::to_string(plan.end) + ", stack of " + std::to_string(plan.depth));
  } else {
    line(plan.nodes.empty() ? "nothing" : printer.node(0));
  }
  return text;
}

/// Nothing else: what capture has computed itself may have no other owner than the plan.
void holdWeakly(ExitPlan& plan, guards::GuardSet& guards) {
  auto isUsers = [](PyObject* o) {
    return o && (PyType_Check(o) || PyFunction_Check(o) || PyCode_Check(o) || PyModule_Check(o)) &&
           !guards::mayHoldStrongly(o);
  };
  for (ExitNode& node : plan.nodes) {
    using Kind = ExitNode::Kind;
    if (!isUsers(node.object.get()) || node.kind == Kind::kObject) continue;
    guards.objects.push_back(guards::constantSource(*guards.sources, node.object.get()));
    const int index = static_cast<int>(guards.objects.size()) - 1;
    node.object = cpython::Ref();
    if (node.kind == Kind::kConstant)
      node = {.kind = Kind::kObject, .index = index};
    else
      node.live = index;
  }
}

}  // namespace fw::capture
