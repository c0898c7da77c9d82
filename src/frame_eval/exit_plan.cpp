// Text of exit plans, for logs and tests.
#include "frame_eval/exit_plan.h"

#include "graph/support/check.h"

namespace fw::capture {
namespace {

class Printer {
 public:
  Printer(const ExitPlan& plan, const graph::SymContext& syms) : plan_(plan), syms_(syms) {}

  std::string node(int at) const {
    const ExitNode& n = plan_.nodes.at(static_cast<size_t>(at));
    using Kind = ExitNode::Kind;
    switch (n.kind) {
      case Kind::kConstant: return "constant " + repr(n.object.get());
      case Kind::kObject: return "object " + std::to_string(n.index);
      case Kind::kArray: return array(n);
      case Kind::kArrayScalar: return "scalar #" + std::to_string(n.index);
      case Kind::kPyFloat: return "float #" + std::to_string(n.index);
      case Kind::kPyBool: return "bool #" + std::to_string(n.index);
      case Kind::kPyComplex: return "complex #" + std::to_string(n.index);
      case Kind::kPyInt: return "int " + syms_.print(n.sym);
      case Kind::kTuple: return "tuple(" + children(n) + ")";
      case Kind::kList: return "list(" + children(n) + ")";
      case Kind::kDict: return "dict(" + children(n) + ")";
      case Kind::kSlice: return "slice(" + children(n) + ")";
      case Kind::kShared: return "same as node " + std::to_string(n.index);
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

  std::string children(const ExitNode& n) const {
    std::string text;
    for (int child : n.children) text += (text.empty() ? "" : ", ") + node(child);
    return text;
  }

  /// Only of types whose repr is CPython's own.
  static std::string repr(PyObject* object) {
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
  return plan.nodes.empty() ? "nothing" : Printer(plan, syms).node(0);
}

}  // namespace fw::capture
