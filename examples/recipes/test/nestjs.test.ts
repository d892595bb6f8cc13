// The application of the recipe with pg. The long tests try it with Prisma.
import { testNotes } from "./notes.ts";

testNotes("nestjs/main");
