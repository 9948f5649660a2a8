/** A separate bundle, loaded with the first Compose file, so that other commands do not load it. */
export { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
