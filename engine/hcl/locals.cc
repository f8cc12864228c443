#include "hcl/locals.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

namespace berth::hcl {

void Locals::collect(const Block& block) {
  const Content content = block.body.everything(out_);
  for (const Block& nested : content.blocks) {
    out_.add(nested.type_range, fmt::format("Unexpected \"{}\" block", nested.type), "Blocks are not allowed here.");
  }
  for (const Attribute& attribute : content.attributes) {
    const auto [known, added] = position_.try_emplace(attribute.name, all_.size());
    if (added) {
      all_.push_back(attribute);
    } else {
      all_[known->second] = attribute;  // set again in another block: the later wins (R-HCL-292)
    }
  }
}

void Locals::evaluate() {
  std::deque<std::size_t> queue;
  for (std::size_t i = 0; i < all_.size(); ++i) queue.push_back(i);
  for (std::size_t failed_in_a_row = 0; !queue.empty();) {
    const std::size_t i = queue.front();
    queue.pop_front();
    Diagnostics own;
    Value value = all_[i].expression.value(own);
    if (own.empty()) {
      values_.set(all_[i].name, std::move(value));
      failed_in_a_row = 0;
      continue;
    }
    queue.push_back(i);
    if (queue.size() > 1 && ++failed_in_a_row < kMostTries) continue;
    // Report the first in source order that still fails.
    std::sort(queue.begin(), queue.end());
    for (const std::size_t left : queue) {
      const std::size_t before = out_.count();
      (void)all_[left].expression.value(out_);
      if (out_.count() > before) return;
    }
    out_.add(own);  // the budget is spent, which is reported only once
    return;
  }
}

}  // namespace berth::hcl
