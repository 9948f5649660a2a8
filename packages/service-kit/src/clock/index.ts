/** Clocks, and what may be believed of them. */
export { type BelievedTime, clockJump, createBelievedTime } from './believed-time.ts'
export { type Clock, isoTime, type SteadyClock, seconds, systemClock } from './clock.ts'
