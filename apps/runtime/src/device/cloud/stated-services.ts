import { maxStatedServices, type NodeStatement } from '@selvedge/protocol/tokens'

export type StatedServices = NonNullable<NodeStatement['services']>

/** Characters of all of them: the statement travels in a header. */
const maxCharacters = 4000

/** The first services that fit in the statement of a node, with shortened names. */
export function statedServices(all: readonly StatedServices[number][]): StatedServices {
  const stated: StatedServices = []
  let used = 0
  for (const { id, name, image, state } of all.slice(0, maxStatedServices)) {
    const each = { id: id.slice(0, 128), name: name.slice(0, 64), image: image.slice(0, 255), state }
    used += JSON.stringify(each).length
    if (used > maxCharacters) break
    stated.push(each)
  }
  return stated
}
