/** A separate bundle, loaded with the first archive, so that the start does not load it. */
export { Header, Parser } from 'tar'
