/** Work under way and its limits. It knows neither requests nor routes. */

export { createLimitedWork, type LimitedWork } from './limited-work.ts'
export { endWhenClosed } from './until-closed.ts'
export {
  createWorkCount,
  createWorkCounts,
  type EndWork,
  type WorkCount,
  type WorkCounts,
} from './work-count.ts'
