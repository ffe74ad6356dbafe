// Loaded before kinesalite, which would end when a client goes away in the middle of a request.
process.on('uncaughtException', (error) => {
  console.error(error)
  if (error.code !== 'ECONNRESET') process.exit(1)
})
