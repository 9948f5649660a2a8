/** The locations of the devices that a filter selects, each with the state that lists have for it. */
import { pipeline, type Readable, Transform } from 'node:stream'

/** Characters of the longest place in the answer of the discovery service. */
const maxPlaceCharacters = 300

/**
 * Reads the places that the discovery service sends, in whatever pieces they come.
 *
 * @param selected for each device of the answer, until which Unix second it is online; -1 for a blocked one
 * @returns a JSON array of `[node ID, longitude, latitude, Unix second of its report, online until]`
 */
export function withStates(places: Readable, selected: ReadonlyMap<string, number>): Readable {
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
  const transform = new Transform({
    decodeStrings: false,
    transform: (chunk, _encoding, done) => done(null, take(String(chunk))),
    flush: (done) => done(null, begun === '[' ? '[]' : ']'),
  })
  // A reader that leaves ends what the discovery service sends, and the other way round.
  return pipeline(places.setEncoding('utf8'), transform, () => undefined)
}
