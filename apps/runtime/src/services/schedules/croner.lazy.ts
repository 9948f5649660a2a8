/** A separate bundle, loaded with the first function that has times: a start without one does not load it. */
export { Cron } from 'croner'
