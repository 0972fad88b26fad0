import type { Kept } from "../../src/web/session.ts";

/** A stand-in for the browser tab's `sessionStorage`, over a map. */
export function storage(kept = new Map<string, string>()): Kept {
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, text) => void kept.set(name, text),
    removeItem: (name) => void kept.delete(name),
  };
}
