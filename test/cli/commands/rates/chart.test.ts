import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { plot, sparkline } from "../../../../src/cli/commands/rates/chart.ts";

const line = (values: readonly number[]) => ({ values, paint: (text: string) => text });
const label = (value: number) => value.toFixed(1);

describe("charts", () => {
  test("a sparkline goes from the lowest bar to the highest", () => {
    assert.equal(sparkline([1, 2, 3, 4, 5, 6, 7, 8]), "▁▂▃▄▅▆▇█");
    assert.equal(sparkline([4, 1, 4]), "█▁█");
  });

  test("a sparkline of one value, or of equal ones, is flat", () => {
    assert.equal(sparkline([5]), "▁");
    assert.equal(sparkline([5, 5]), "▁▁");
    assert.equal(sparkline([]), "");
  });

  test("a line runs from corner to corner, with the scale beside it", () => {
    assert.deepEqual(plot([line([0, 1])], { width: 9, height: 3, label }), [
      "1.0 ┤  ⢀⠜",
      "    │ ⢠⠊",
      "0.0 ┤⡰⠁",
    ]);
  });

  for (const [width, height] of [
    [40, 5],
    [80, 16],
  ] as const) {
    test(`a chart of ${width} by ${height} is no wider and as high, and its ends are the extremes`, () => {
      const values = Array.from({ length: 250 }, (_, index) => Math.sin(index / 10) * index);
      const rows = plot([line(values), line(values.map((value) => value + 5))], { width, height, label });
      assert.equal(rows.length, height);
      for (const row of rows) assert.ok([...row].length <= width, row);
      assert.match(rows[0] ?? "", new RegExp(`^ *${label(Math.max(...values) + 5)} ┤`));
      assert.match(rows.at(-1) ?? "", new RegExp(`^ *${label(Math.min(...values))} ┤.*[⠁-⣿]`));
    });
  }

  test("every column of a line has a dot", () => {
    const rows = plot([line([1, 5, 2, 9, 1])], { width: 24, height: 6, label });
    const columns = Array.from({ length: 24 - "9.0 ┤".length }, (_, index) => index + "9.0 ┤".length);
    for (const column of columns)
      assert.ok(
        rows.some((row) => /[⠁-⣿]/.test([...row][column] ?? "")),
        String(column),
      );
  });

  test("a line that does not move is drawn too", () => {
    assert.ok(plot([line([3, 3, 3])], { width: 20, height: 4, label }).some((row) => /[⠁-⣿]/.test(row)));
  });
});
