/** A promise that resolves when `release` is called. */
export function openGate(): { readonly passed: Promise<void>; readonly release: () => void } {
  let release = () => {};
  const passed = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { passed, release };
}
