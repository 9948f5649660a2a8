/** The locations of the devices that a filter selects, each with the state that lists have for it. */
import { Transform } from 'node:stream'

/** Characters of the longest place in the answer of the discovery service. */
const maxPlaceCharacters = 300

/**
 * Reads the places that the discovery service sends, which are ASCII, in whatever pieces they come.
 *
 * @param selected for each device of the answer, until which Unix second it is online; -1 for a blocked one
 * @returns a JSON array of `[node ID, longitude, latitude, Unix second of its report, online until]`
 */
export function addStates(selected: ReadonlyMap<string, number>): Transform {
  let text = ''
  let begun = '['
  const take = (piece: string): string => {
    text += piece
    let out = ''
    let end = 0
    for (const match of text.matchAll(/\["([^"\\]+)",([^"[\]]+)\]/g)) {
      end = match.index + match[0].length
      const until = selected.get(match[1]!)
      if (until === undefined) continue
      out += `${begun}["${match[1]}",${match[2]},${until}]`
      begun = ','
    }
    text = text.slice(Math.max(end, text.length - maxPlaceCharacters))
    return out
  }
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, take(chunk.toString('latin1'))),
    flush: (done) => done(null, begun === '[' ? '[]' : ']'),
  })
}
