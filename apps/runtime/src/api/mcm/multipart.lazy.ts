/** A separate bundle, loaded with the first upload of this kind, so that the start does not load it. */
export { Busboy } from '@fastify/busboy'
