from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request

from cassandra.cluster import Cluster


@asynccontextmanager
async def lifespan(app):
    async with Cluster(["127.0.0.1"]) as cluster:
        session = await cluster.connect_async("shop")
        app.state.session = session
        app.state.by_id = await session.prepare_async(
            "SELECT id, name FROM items WHERE id = ?"
        )
        app.state.insert = await session.prepare_async(
            "INSERT INTO items (id, name) VALUES (?, ?)"
        )
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/items/{id}")
async def read(id: int, request: Request):
    state = request.app.state
    result = await state.session.execute_async(state.by_id, (id,))
    row = result.one()
    if row is None:
        raise HTTPException(404)
    return row._asdict()


@app.put("/items/{id}")
async def write(id: int, name: str, request: Request):
    state = request.app.state
    await state.session.execute_async(state.insert, (id, name))
    return {"id": id}
