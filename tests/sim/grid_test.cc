#include "sim/grid.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/random.h"
#include "base/uuid.h"
#include "io/files.h"
#include "sim/job_generator.h"
#include "support/scratch_folder.h"

namespace berth::sim {
namespace {

const std::string kGrid = BERTH_SOURCE_DIR "/datasets/nomad-grid.jsonl.gz";

TEST(Grid, HoldsThe120CellsInTheirNesting) {
  const auto cells = read_grid(kGrid);
  ASSERT_TRUE(cells) << cells.error().line();
  ASSERT_EQ(cells->size(), 120U);
  std::size_t i = 0;
  int short_cells = 0;
  for (const std::uint32_t nodes : {500, 1000, 5000, 10000})
    for (const std::uint32_t racks : {25, 50, 75})
      for (const std::int64_t allocs : {50, 300, 600, 900, 1200})
        for (const bool spread : {false, true}) {
          const GridCell& cell = (*cells)[i++];
          EXPECT_EQ(cell.cell, static_cast<int>(i));
          EXPECT_EQ(cell.nodes, nodes);
          EXPECT_EQ(cell.racks, racks);
          EXPECT_EQ(cell.allocs, allocs);
          EXPECT_EQ(cell.spread, spread);
          EXPECT_EQ(cell.eval, base::to_text(base::generated_id(2, static_cast<std::uint32_t>(i))));
          EXPECT_EQ(grid_job(cell.cell, racks, allocs, spread)->id, cell.job);
          EXPECT_GT(cell.nomad_ns, 0);
          bool full = true;
          for (std::size_t k = 0; k < cell.placements.size(); ++k) {
            full &= cell.placements[k] >= 0;
            if (cell.placements[k] < 0) {
              EXPECT_EQ(cell.scores[k], 0);
            }
          }
          short_cells += !full;
        }
  EXPECT_EQ(short_cells, 24);
}

TEST(Grid, RefusesDamagedFiles) {
  const std::string good =
      R"({"cell":1,"nodes":2,"racks":1,"allocs":1,"spread":false,"job":"j","eval":"c4858308-e594-9c49-b9fe-21ca89c73fad",)"
      R"("state_index":5,"wall_ns":[9,8],"placements":[1],"scores":[0.5]})";
  const testing::ScratchFolder scratch;
  const std::string path = scratch.file("grid.jsonl");
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_grid(path);
  };
  const auto one = read(good + "\n");
  ASSERT_TRUE(one) << one.error().line();
  EXPECT_EQ((*one)[0].nomad_ns, 8);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to) + "\n";
  };
  for (const auto& [text, place] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "holds no cells"},
           {good.substr(0, 50), ":1"},
           {good + "\n" + good + "\n", ":2:cell: occurs twice"},
           {replaced("\"placements\":[1]", "\"placements\":[2]"), ":1:placements"},
           {replaced("\"placements\":[1]", "\"placements\":[]"), ":1:placements"},
           {replaced("[9,8]", "[]"), ":1:wall_ns"},
           {replaced("[9,8]", "[-4]"), ":1:wall_ns"},
           {replaced("\"spread\":false", "\"spread\":0"), ":1:spread"},
           {replaced("c4858308", "zzzz8308"), ":1:eval"},
           {replaced("\"nodes\":2", "\"nodes\":99999999999"), ":1:nodes"}}) {
    const auto cells = read(text);
    ASSERT_FALSE(cells) << text;
    EXPECT_NE(cells.error().line().find(place), std::string::npos) << cells.error().line();
  }
}

}  // namespace
}  // namespace berth::sim
