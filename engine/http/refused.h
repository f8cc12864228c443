// The requests that this server refuses, with status and text: a table made from its routes. `berth serve --refused`
// prints it, and refused.md contains it.
#pragma once

#include <string>

#include "http/endpoint.h"

namespace berth::http {

/// The table in Markdown.
[[nodiscard]] std::string refused_table(const Router& router);

}  // namespace berth::http
