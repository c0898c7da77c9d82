// Writes into arrays.
#pragma once

#include "graph/graph.h"

namespace fw::capture {

struct Value;

/// A write into an array that exists outside the trace, in program order.
struct ArrayWrite {
  Value* owner;           ///< the array with a source whose memory is written
  graph::ValueId target;  ///< chain of views over its input
  graph::ValueId value;
  int at;  ///< instruction of the outermost frame
};

/// A write as the program makes it, without versions, into an array of the call or one that the call has made. It
/// happens where `after` stands among the nodes of the captured graph; what reads `after` or views of it reads the
/// array's memory as it is from then on.
struct ProgramWrite {
  int array = 0;          ///< number of the array that owns the memory
  graph::ValueId before;  ///< what it held: if this is its first write, its memory (an input), or what it was made as
  graph::ValueId part;    ///< view over `before` that is written
  graph::ValueId value;
  graph::ValueId after;
  bool made = false;  ///< the call has made the array, be it of the value of an argument that is a number
};

}  // namespace fw::capture
