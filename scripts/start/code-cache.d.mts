export function addLoader(dist: string): void
export function programIn(dist: string): string
export function makeCodeCache(
  dist: string,
  options?: { readonly node?: readonly string[]; readonly env?: Readonly<Record<string, string>> },
): void
