// The HTML page: one self-contained file that includes Chart.js.
#pragma once

#include <string>
#include <string_view>

#include "berth/result.h"
#include "report/document.h"

namespace berth::report {

/// Escapes text for HTML and SVG elements.
[[nodiscard]] std::string escaped(std::string_view text);

/// Chart.js from Debian's libjs-chart.js, or from the file named by the environment variable BERTH_CHART_JS. Errors: no
/// such file, or not Chart.js of version 3 or 4.
[[nodiscard]] Result<std::string> read_chart_js();

/// The page works offline, in light and dark mode. Texts of the document cannot become markup or script.
[[nodiscard]] std::string to_html(const Document& document, const std::string& chart_js);

}  // namespace berth::report
