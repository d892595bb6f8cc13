import { proveMysql } from "./prove.ts";

proveMysql("Sequelize");
