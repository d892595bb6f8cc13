// Resolves the name of the service to this machine.
import dns from "node:dns";

const { lookup } = dns;
dns.lookup = (name, ...rest) => lookup(name === "sandbox" ? "127.0.0.1" : name, ...rest);
