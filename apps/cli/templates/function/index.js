// A handler: one function a request. `context` has storage, env, info, http.request and identityToken.
mimikModule.exports = (context, request, response) => {
  const visits = Number(context.storage.getItem('visits') || 0) + 1
  context.storage.setItem('visits', String(visits))
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify({ hello: 'from the edge', path: request.url, visits }))
}
