// Classes that the traced code makes. The body runs symbolically into a namespace of Values. For look-ups there is a
// real class, the stand-in, with the same bases and names, that never leaves the trace: its functions and descriptors
// are stand-ins too, never called, and Trace::constant() answers the Value that each of them stands for. So attribute
// look-up, special methods, isinstance and super() work on it as on any class. A class that outlives the region is
// made then, by a call of `type` with its namespace.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

struct Classes {
  Interpreter& in;
  Trace& trace;

  /// __build_class__(body, name, *bases).
  Value* build(const CallArgs& args);
  /// cls.name = value. The class cannot leave afterwards: the order of its dict would be another one.
  void setAttribute(Value* cls, PyObject* name, Value* value);
  /// property, staticmethod or classmethod of the arguments: a kOpaque with the name of the type.
  static Value* descriptor(Trace& trace, PyObject* type, const CallArgs& args);
  /// setter, getter and deleter of a property made here.
  static Value* changed(Trace& trace, Value* property, const std::string& name, const CallArgs& args);

  /// Breaks if a guard or the exit would need a stand-in where only the class itself could stand.
  static void check(Trace& trace);

 private:
  struct Namespace;
  [[noreturn]] void refuse(const std::string& why) const;
  void checkBase(Value* base);
  Ref standInFor(Value* value, const std::string& name);
};

/// The Value of a class made by the trace, or null.
inline Value* madeClass(const Trace& trace, PyObject* object) {
  auto it = trace.standIns.find(object);
  return it != trace.standIns.end() && PyType_Check(object) ? it->second : nullptr;
}

/// Of a kConstant.
inline bool isMadeClass(const Trace& trace, const Value* value) {
  return value->isConstant() && !value->items.empty() && madeClass(trace, value->object.get()) == value;
}
inline bool isMadeDescriptor(const Value* value) {
  return value->kind == ValueKind::kOpaque &&
         (value->name == "property" || value->name == "staticmethod" || value->name == "classmethod");
}

/// A class that calls of this code, or of other functions, make anew each time: what is known of one says nothing of
/// the next.
bool isMadeByEveryCall(PyTypeObject* type, PyObject* code);

}  // namespace fw::capture
