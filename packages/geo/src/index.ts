/** Locations on the sphere: distances, cells, the precision at which others see them, dead reckoning. It knows no service. */
export { type Cells, createCells, type Place } from './cells.ts'
export {
  fastest,
  isJump,
  isWorthSending,
  type Motion,
  predict,
  restless,
  type SendingLimits,
} from './motion.ts'
export { snap, snapGrid } from './precision.ts'
export { destination, distanceBetween, earthRadius } from './sphere.ts'
