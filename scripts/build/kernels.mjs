// Compiles AssemblyScript kernels one after the other in this process: the compiler is itself WebAssembly, and half of the
// time of a single kernel goes into loading it and making it fast. Tells of each kernel when it is there.
import { main } from 'assemblyscript/asc';

process.once('message', async (kernels) => {
  for (const { name, options } of kernels) {
    let complaints = '';
    const listen = { write: (text) => (complaints += text) };
    const { error } = await main(options, { stdout: listen, stderr: listen });
    await tell(error === null ? { name } : { name, complaints: complaints || String(error) });
    if (error !== null) return;
  }
});

const tell = (message) => new Promise((sent) => process.send(message, sent));
