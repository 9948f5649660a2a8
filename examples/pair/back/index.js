// Greets whoever calls. The gateway has checked the token; these headers are its word, not the caller's.
export default {
  fetch: (request) =>
    Response.json({
      hello: request.headers.get('x-selvedge-container') ?? 'a person',
      client: request.headers.get('x-selvedge-client'),
      tokenSeen: request.headers.has('authorization'),
    }),
}
