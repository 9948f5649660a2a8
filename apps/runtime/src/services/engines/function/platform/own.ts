/**
 * What this program stands on, taken before the code of a function runs: that may replace anything that it finds on the global
 * object or a prototype, and should break nothing but itself.
 */
export const { parse, stringify } = JSON
const encoder = new TextEncoder()
const decoder = new TextDecoder()
export const encode = encoder.encode.bind(encoder)
export const decode = decoder.decode.bind(decoder)
export const later = globalThis.setTimeout.bind(globalThis)
export const log = console.error.bind(console)

/** A Map with methods that the function cannot replace. Loop over it with `forEach`. */
export class OwnMap<K, V> extends Map<K, V> {}
for (const name of ['get', 'set', 'has', 'delete', 'clear', 'forEach', 'size'] as const)
  Object.defineProperty(OwnMap.prototype, name, Object.getOwnPropertyDescriptor(Map.prototype, name)!)
Object.freeze(OwnMap.prototype)
