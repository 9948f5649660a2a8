/** A bundle of its own, loaded with the first archive: a start without one does not pay for it. */
export { Header, Parser } from 'tar'
