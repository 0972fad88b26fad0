import { Readable } from "node:stream";

/**
 * Maps items as they come, at most `atOnce` at a time, and yields the results in the order of the items. If the source
 * fails, the results of the items before it are yielded first.
 */
export async function* mapInOrder<In, Out>(
  source: AsyncIterable<In>,
  atOnce: number,
  map: (item: In) => Promise<Out>,
): AsyncGenerator<Out> {
  // A stream would wait for promises of its own.
  const begin = (result: Promise<Out>) => {
    // It may fail while an older one is awaited.
    result.catch(() => {});
    return { result };
  };
  async function* begun() {
    try {
      for await (const item of source) yield begin(map(item));
    } catch (error) {
      yield begin(Promise.reject(error));
    }
  }
  // One more is awaited below.
  const readAhead = Readable.from(begun(), { highWaterMark: atOnce - 1 });
  for await (const { result } of readAhead as AsyncIterable<ReturnType<typeof begin>>) yield await result;
}
