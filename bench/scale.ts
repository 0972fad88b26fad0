export async function benchScale(_args: readonly string[]): Promise<void> {}
