/** Samples a server's metrics of memory, open files and handles. */
export interface MemoryWatch {
  /** Whether the last quarter of the time needs hardly more than the second one. */
  isFlat(): boolean;
  /** Minima of the second and the last quarter of the time. */
  report(): Readonly<Record<string, string>>;
  stop(): void;
}

interface Sample {
  readonly heapMb: number;
  readonly memoryMb: number;
  readonly files: number;
  readonly handles: number;
}

/** Environment of a watched server: it collects garbage often. */
export const watched = {
  NODE_OPTIONS: `--import=${new URL("collect-garbage.js", import.meta.url)}`,
};

/** Growth below this is tolerated: caches fill, and the allocator is lazy. */
const slack: Sample = { heapMb: 8, memoryMb: 64, files: 6, handles: 6 };

export function watchMemory(url: string, token?: string, everyMs = 250): MemoryWatch {
  const samples: Sample[] = [];
  let isAsking = false;
  const timer = setInterval(async () => {
    if (isAsking) return;
    isAsking = true;
    try {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}/metrics`, { headers });
      const text = await answer.text();
      if (answer.ok) samples.push(sampleIn(text));
    } catch {
      // The server is busy or down.
    }
    isAsking = false;
  }, everyMs);
  const ends = () => {
    const quarter = Math.floor(samples.length / 4);
    return [
      least(samples.slice(quarter, 2 * quarter)),
      least(samples.slice(-quarter || samples.length)),
    ] as const;
  };
  return {
    isFlat: () => {
      const [middle, end] = ends();
      return names.every((name) => end[name] <= 1.1 * middle[name] + slack[name]);
    },
    report: () => {
      const [middle, end] = ends();
      return Object.fromEntries(names.map((name) => [name, `${middle[name]} to ${end[name]}`]));
    },
    stop: () => clearInterval(timer),
  };
}

const names = ["heapMb", "memoryMb", "files", "handles"] as const;

function sampleIn(metrics: string): Sample {
  const sum = (name: RegExp) =>
    metrics
      .split("\n")
      .filter((line) => name.test(line))
      .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  const megabytes = (name: RegExp) => Math.round(sum(name) / 1024 / 1024);
  return {
    heapMb: megabytes(/^nodejs_heap_space_size_used_bytes\{space="(old|large_object)"/),
    memoryMb: megabytes(/^process_resident_memory_bytes /),
    files: sum(/^process_open_fds /),
    handles: sum(/^nodejs_active_handles\{/),
  };
}

function least(samples: readonly Sample[]): Sample {
  const low = (name: keyof Sample) => Math.min(...samples.map((sample) => sample[name]));
  return { heapMb: low("heapMb"), memoryMb: low("memoryMb"), files: low("files"), handles: low("handles") };
}
