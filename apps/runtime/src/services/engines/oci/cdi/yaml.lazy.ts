/** A separate bundle, loaded with the first file of a device in YAML: a start without one does not load it. */
export { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
