// The HTML page: one file with everything in it, Chart.js included.
#pragma once

#include <string>
#include <string_view>

#include "berth/result.h"
#include "report/document.h"

namespace berth::report {

/// For the text of an element, of HTML and SVG.
[[nodiscard]] std::string escaped(std::string_view text);

/// Chart.js as Debian's libjs-chart.js installs it, or the file that the environment variable BERTH_CHART_JS names.
/// Errors: it is not there, or is no Chart.js of version 3 or 4.
[[nodiscard]] Result<std::string> read_chart_js();

/// Works offline, in light and dark. Whatever texts the document holds cannot become markup or script.
[[nodiscard]] std::string to_html(const Document& document, const std::string& chart_js);

}  // namespace berth::report
