import assert from "node:assert/strict";
import { test } from "node:test";

// The types of these tests have no page.
const source = new URL("../../src/web/repeats.ts", import.meta.url).href;
const { ignoreStrayRepeats } = (await import(source)) as { ignoreStrayRepeats(page: object): void };

class Button {}

for (const key of ["Enter", " "]) {
  test(`A button that takes the focus is pressed by "${key}" only after half a second without a press`, (t) => {
    Object.assign(globalThis, { HTMLButtonElement: Button });
    t.after(() => void Reflect.deleteProperty(globalThis, "HTMLButtonElement"));
    const heard = new Map<string, (event: object) => void>();
    const addEventListener = (type: string, hear: (event: object) => void) => heard.set(type, hear);
    ignoreStrayRepeats({ addEventListener });
    const [asks, confirms] = [new Button(), new Button()];
    /** Whether a key that is pressed at this time does something. */
    const press = (timeStamp: number, target: object, pressed = key) => {
      let isHeeded = true;
      const preventDefault = () => {
        isHeeded = false;
      };
      heard.get("keydown")?.({ key: pressed, repeat: false, target, timeStamp, preventDefault });
      return isHeeded;
    };
    assert.ok(press(1000, asks));
    heard.get("focusin")?.({ target: confirms, timeStamp: 1700 });
    assert.deepEqual(
      [2100, 2500, 2900].map((time) => press(time, confirms)),
      [false, false, false],
    );
    assert.ok(press(3400, confirms));
    press(3500, confirms, "Tab");
    heard.get("focusin")?.({ target: asks, timeStamp: 3500 });
    assert.ok(press(3600, asks), "it was chosen with Tab");
  });
}
