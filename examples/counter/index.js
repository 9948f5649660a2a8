// Counts per name, durably: an answer leaves only when what it wrote is on the disk.
// GET /<name> counts one up; GET / lists; DELETE /<name> forgets.
mimikModule.exports = (context, request, response) => {
  const { storage } = context
  const name = decodeURIComponent(request.url.split('?')[0].slice(1))
  response.setHeader('Content-Type', 'application/json')

  if (name === '') {
    const counts = {}
    storage.eachItem((key, value) => {
      counts[key] = Number(value)
    })
    return response.end(JSON.stringify(counts))
  }
  if (request.method === 'DELETE') {
    storage.removeItem(name)
    response.statusCode = 204
    return response.end()
  }
  const count = Number(storage.getItem(name) || 0) + 1
  storage.setItem(name, String(count))
  return response.end(JSON.stringify({ name, count }))
}
