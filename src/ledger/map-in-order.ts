/**
 * Maps items as they come, at most `atOnce` at a time, and yields the results in the order of the items. If the source
 * fails, the results of the items before it are yielded first.
 */
export async function* mapInOrder<In, Out>(
  source: AsyncIterable<In>,
  atOnce: number,
  map: (item: In) => Promise<Out>,
): AsyncGenerator<Out> {
  const items = source[Symbol.asyncIterator]();
  const read = () =>
    items.next().then(
      ({ value, done }) => (done ? { end: {} } : { item: value as In }),
      (error: unknown) => ({ end: { error } }),
    );
  const running: Promise<{ readonly result: Out }>[] = [];
  let reading: ReturnType<typeof read> | undefined = read();
  let end: { readonly error?: unknown } = {};
  try {
    for (;;) {
      const oldest = running.slice(0, 1);
      const awaited = reading !== undefined && running.length < atOnce ? [...oldest, reading] : oldest;
      if (awaited.length === 0) break;
      const step = await Promise.race(awaited);
      if ("result" in step) {
        running.shift();
        yield step.result;
      } else if ("item" in step) {
        const mapped = map(step.item).then((result) => ({ result }));
        // It may fail while an older one is awaited.
        mapped.catch(() => {});
        running.push(mapped);
        reading = read();
      } else {
        end = step.end;
        reading = undefined;
      }
    }
    if ("error" in end) throw end.error;
  } finally {
    // Not awaited: the source may be waiting for its next item.
    items.return?.().catch(() => {});
  }
}
