/** A bundle of its own, loaded with the first upload of this kind: a start without one does not pay for it. */
export { Busboy } from '@fastify/busboy'
