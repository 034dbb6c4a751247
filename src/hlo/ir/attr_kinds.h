// attr_kinds.h - the members of hsc_attr by name, for tables that say which operations have a row.
#pragma once

#include "hlo/ir/hlo.h"

// A member for each name in the attr column of ops.def.
typedef enum hsc__attr_kind {
#define MEMBER(name) HSC__ATTR_##name,
#define FIELD(kind, place)
#define END(name)
#include "hlo/ir/attrs.def"
#undef MEMBER
#undef FIELD
#undef END
} hsc__attr_kind;
enum { HSC__ATTR_ANY = UINT8_MAX };  // in tables: every operation
hsc__attr_kind hsc__op_attr_kind(hsc_op op);
