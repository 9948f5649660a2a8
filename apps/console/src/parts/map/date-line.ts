import type { Position } from 'geojson'

/** A line that continues beyond 180 degrees where it crosses the date line. */
export function unrolled(line: readonly Position[]): Position[] {
  let turns = 0
  let before = line[0]?.[0] ?? 0
  return line.map(([longitude = 0, latitude = 0]) => {
    if (longitude - before > 180) turns--
    else if (before - longitude > 180) turns++
    before = longitude
    return [longitude + turns * 360, latitude]
  })
}
