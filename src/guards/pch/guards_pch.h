// What nearly every file of this room includes, parsed once per build. A file still includes what it uses
// (`meson setup -Db_pch=false` builds without).
#pragma once

#include <Python.h>
#include <xbyak/xbyak.h>  // in front of structmember.h, whose macros have names of its

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cpython/numpy_api.h"
#include "guards/guard_set.h"
