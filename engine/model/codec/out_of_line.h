// The big structs of the model are copied everywhere and nest deeply. Their constructors, assignments and destructor
// are declared here and defined once, in out_of_line.cc; otherwise every file compiles them again: a quarter of all
// machine code.
#pragma once

#define BERTH_DECLARE_COPIES(Type)  \
  Type();                           \
  Type(const Type&);                \
  Type(Type&&) noexcept;            \
  Type& operator=(const Type&);     \
  Type& operator=(Type&&) noexcept; \
  ~Type()

#define BERTH_DEFINE_COPIES(Type)                   \
  Type::Type() = default;                           \
  Type::Type(const Type&) = default;                \
  Type::Type(Type&&) noexcept = default;            \
  Type& Type::operator=(const Type&) = default;     \
  Type& Type::operator=(Type&&) noexcept = default; \
  Type::~Type() = default
