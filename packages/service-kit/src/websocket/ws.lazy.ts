/** A separate bundle, loaded with the first WebSocket, so that neither the start nor the idle memory has it. */
export { WebSocketServer } from 'ws'
