/** Which part of the world shows a fleet. */
import type { Box } from './clusters.ts'
import type { Fleet } from './fleet.ts'

/** Parts of a turn around the world, to find where there is no device. */
const sectors = 360

/** The smallest part of the world with all devices, across the date line if that is shorter. Undefined without devices. */
export function boundsOf(fleet: Fleet): Box | undefined {
  if (fleet.xs.length === 0) return undefined
  const start = afterWidestGap(fleet)
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
  for (let index = 0; index < fleet.xs.length; index++) {
    const x = fleet.xs[index]! < start ? fleet.xs[index]! + 1 : fleet.xs[index]!
    const y = fleet.ys[index]!
    box.left = Math.min(box.left, x)
    box.right = Math.max(box.right, x)
    box.top = Math.min(box.top, y)
    box.bottom = Math.max(box.bottom, y)
  }
  return box
}

/** The sector at which the longest stretch of the world without a device ends, as part of a turn. */
function afterWidestGap({ xs }: Fleet): number {
  const isUsed = new Uint8Array(sectors)
  for (const x of xs) isUsed[Math.min(sectors - 1, Math.max(0, Math.floor(x * sectors)))] = 1
  let widest = 0
  let start = 0
  let gap = 0
  // Twice around, since the gap may go on behind the date line.
  for (let step = 0; step < 2 * sectors; step++) {
    if (isUsed[step % sectors] === 0) gap++
    else {
      if (gap > widest) [widest, start] = [gap, step % sectors]
      gap = 0
    }
  }
  return start / sectors
}

/** Whether a view shows a part of the world, in whichever copy of it. */
export const holds = (view: Box, part: Box): boolean =>
  view.top <= part.top &&
  view.bottom >= part.bottom &&
  [-2, -1, 0, 1, 2].some((turn) => view.left <= part.left + turn && view.right >= part.right + turn)
